"""R24: workers are killed while they read documents and extract memories."""
