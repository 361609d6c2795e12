"""The audit: proves from files alone that every source byte, object, draw and export is accounted for."""

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.generation import audit_generation, audit_store

__all__ = ["Findings", "audit_generation", "audit_store"]
