"""The operators, one a file. Importing this package makes `evaluate` know them all."""

from freshet.oneshot.operators import (
    bgp as bgp,
)
from freshet.oneshot.operators import (
    distinct as distinct,
)
from freshet.oneshot.operators import (
    extend as extend,
)
from freshet.oneshot.operators import (
    filter as filter,
)
from freshet.oneshot.operators import (
    graph as graph,
)
from freshet.oneshot.operators import (
    group as group,
)
from freshet.oneshot.operators import (
    join as join,
)
from freshet.oneshot.operators import (
    left_join as left_join,
)
from freshet.oneshot.operators import (
    minus as minus,
)
from freshet.oneshot.operators import (
    order_by as order_by,
)
from freshet.oneshot.operators import (
    path as path,
)
from freshet.oneshot.operators import (
    project as project,
)
from freshet.oneshot.operators import (
    service as service,
)
from freshet.oneshot.operators import (
    slice as slice,
)
from freshet.oneshot.operators import (
    union as union,
)
from freshet.oneshot.operators import (
    values as values,
)
from freshet.oneshot.operators import (
    window as window,
)
