"""The interface of a blocking client, generated from the async one; do not edit it by hand."""
