"""Reading the registry: views, points in time, differences, activity, what is taken out."""
