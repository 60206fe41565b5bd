"""Taint analysis: values from outside and where they end up, field by field, each flow with the path it took."""
