"""Routes that compare, price and model what is selected; the formulas are in `venturi.model`."""

from fastapi import APIRouter

from venturi.present.api.analysis.compare import router as compare
from venturi.present.api.analysis.cost import router as cost
from venturi.present.api.analysis.improvement import router as improvement
from venturi.present.api.analysis.parameter import router as parameter
from venturi.present.api.analysis.scaling import router as scaling
from venturi.present.api.analysis.speedup import router as speedup

router = APIRouter(prefix="/api", tags=["analyses"])
for each in (cost, compare, speedup, parameter, scaling, improvement):
    router.include_router(each)
