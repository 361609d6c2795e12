"""The audit: proves from files alone that every byte of a source is answered for, and every object, draw and export."""

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.generation import audit_generation

__all__ = ["Findings", "audit_generation"]
