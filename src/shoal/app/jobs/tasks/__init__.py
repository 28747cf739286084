"""What jobs do: one module a task, each with `work(plan, folder, tell, **options) -> dict`.

It runs in a worker process. `folder` is for what it makes, `tell(doing, share)` is a progress, `tell.stage(name)` begins a stage, and what
is returned goes to `result.json`: numbers and texts. Raise `InputError` or `Unreachable` for what the user can mend.
"""
