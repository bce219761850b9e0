"""Information criteria and leave-one-out estimates from posterior draws."""
