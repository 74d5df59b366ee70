"""The intermediate representation on xDSL: dialects, builder, accessors, locations, layouts, text."""
