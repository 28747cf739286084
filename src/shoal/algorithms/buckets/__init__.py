"""Bucketization: exact quasi-identifiers, sensitive values apart (Xiao and Tao 2006; Li and Li 2008)."""
