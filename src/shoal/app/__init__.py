"""The web app: a thin shell over plans. It makes a plan, runs it in a worker process, and shows what happened.

    server     loopback only, behind a token; the frame around the panels, and the page of projects
    project    folders of the owner: uploads, and for each data set a plan on its way, with undo
    jobs       a queue of worker processes; a job is a folder
    panels     the page: one panel for each step, each a folder with its parts
    widgets    what panels are made of

Nothing here is imported before `shoal app` runs, and what a worker imports does not need NiceGUI.
"""

from pathlib import Path

STATIC = Path(__file__).with_name("static")
