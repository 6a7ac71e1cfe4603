"""Where a drill runs: in a lab on this machine, or on a cluster that hooks reach."""

from admin.drills.hooks.cluster import HookedCluster
from admin.drills.hooks.model import HookedNode
from admin.lab.lab import Lab, LabNode

DrillPlace = Lab | HookedCluster
PlaceNode = LabNode | HookedNode
