"""The book in a class: homework, its grading, quizzes and glossary for other programs.

All of it is made from the chapters and their exercises as they are::

    python -m lnbook homework …    # an nbgrader course folder
    python -m lnbook grade …       # submissions into tables and feedback, by nbgrader
    python -m lnbook export …      # quizzes for Moodle and as Markdown, the glossary as a deck
"""
