"""The web app: a thin shell over plans. It makes a plan, runs it in a worker process, and shows what happened.

    workspace, project    folders of the owner: uploads, and for each data set a plan on its way, with undo
    jobs, worker, tasks   a queue of worker processes; a job is a folder
    guard, server         loopback only, behind a token
    shell, panels         the page: one panel for each step
    scripts               the same release as a command and as Python

Nothing here is imported before `shoal app` runs, and what a worker imports does not need NiceGUI.
"""
