"""The sections of the report, each a function of the summary and examples; `page.SECTIONS` lists them."""
