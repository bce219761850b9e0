from ..numpy.detection.coco import read_coco as read_coco
from ..numpy.detection.matching import match_detections as match_detections
