"""Tools for teaching: homework, grading, and exports of quizzes and the glossary.

Everything is generated from the chapters and their exercises::

    python -m lnbook homework …    # an nbgrader course folder
    python -m lnbook grade …       # grades and feedback for submissions, with nbgrader
    python -m lnbook export …      # quizzes for Moodle and as Markdown, the glossary for Anki
"""
