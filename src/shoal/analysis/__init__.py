"""What a release says about the original: estimates for its readers, from the published rows and the tree alone."""
