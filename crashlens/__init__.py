"""Turns what a dead or slow GPU job left behind into tables, findings and an audit that somebody else can check."""
