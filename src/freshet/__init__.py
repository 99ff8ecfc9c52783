"""Freshet: continuous SPARQL over live streams, a growing graph and remote endpoints."""
