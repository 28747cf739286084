"""Series: the same owner publishes again and again, and what is promised holds for all releases together.

`ledger` is what the owner keeps between releases, `batches` what is published of rows that come once each, `stacking` puts batches
together. `turns` is how a run goes: it reads the ledger, asks the kind of the series what may go out now, and gives the next ledger to
whoever publishes (`shoal.publish`), so that it becomes current with the data or not at all.
"""
