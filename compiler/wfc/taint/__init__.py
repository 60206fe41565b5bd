"""What comes from outside, and where it gets to: followed field by field, each flow with the way it took."""
