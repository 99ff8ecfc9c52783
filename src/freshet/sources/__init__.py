"""Where records come from: files, databases and documents of streams, as columns of texts."""
