"""The book in a class: homework, its grading, quizzes and glossary for other programs.

All of it is made from the chapters and their exercises as they are::

    python -m lnbook homework …    # notebooks for students, and the key
    python -m lnbook grade …       # hand-ins into a table
    python -m lnbook export …      # quizzes for Moodle and as Markdown, the glossary as a deck
"""
