"""RMSNorm: layer norm without the mean, and how to replace one by the other."""
