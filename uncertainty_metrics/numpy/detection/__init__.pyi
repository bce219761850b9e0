from .matching import match_detections as match_detections
from .coco import read_coco as read_coco
