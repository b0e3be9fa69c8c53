"""The dashboard. The only room that knows Textual and Rich; it reaches agents through `Fleet`, in its worker process."""
