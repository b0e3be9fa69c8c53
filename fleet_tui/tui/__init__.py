"""The dashboard. The only room that knows Textual and Rich; it reaches agents through `Fleet`, in its worker process.

No verb is implemented here, and nothing that another face needs as well: that belongs to `faces` or `fleet`.
"""
