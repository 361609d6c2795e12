"""The engines that stages run on, and what they have in common. Importing this package loads no Beam."""
