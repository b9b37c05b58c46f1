"""The paper's eleven data sets, from their official files: verified, cached, and ready as arrays."""
