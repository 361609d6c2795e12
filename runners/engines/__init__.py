"""The engines that stages run on, and their shared parts. Importing this package does not load Beam."""
