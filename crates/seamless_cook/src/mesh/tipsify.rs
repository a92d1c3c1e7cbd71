//! An order of triangles in which vertices are used again soon: Tipsify (Sander, Nehab, Barczak: Fast Triangle Reordering for Vertex
//! Locality and Reduced Overdraw, SIGGRAPH 2007). Whole numbers only, so that it gives the same order on every machine.

/// Vertices that the order is made for. GPUs remember 16 to 32; an order for fewer is good for more as well.
pub(super) const CACHE: usize = 16;

/// The triangles of `indices` in the new order; each keeps its corners in their order. `indices` are three for each triangle, each below
/// `vertices`.
pub(super) fn order(triangles: &[[u32; 3]], vertices: usize) -> Vec<[u32; 3]> {
    let mut walk = Walk::new(triangles, vertices);
    let mut ordered = Vec::with_capacity(triangles.len());
    let mut next = walk.live_from_start();
    while let Some(fan) = next {
        let candidates = walk.emit(fan, &mut ordered);
        next = walk.best(&candidates).or_else(|| walk.dead_end());
    }
    ordered
}

/// How many of the vertices a cache of the last [`CACHE`] ones would not have had.
pub(super) fn misses(triangles: &[[u32; 3]], vertices: usize) -> usize {
    let mut entered = vec![None; vertices];
    let mut misses = 0_usize;
    for corner in triangles.as_flattened() {
        let Some(entered) = entered.get_mut(*corner as usize) else {
            continue;
        };
        if entered.is_none_or(|entered| misses - entered >= CACHE) {
            *entered = Some(misses);
            misses += 1;
        }
    }
    misses
}

struct Walk<'a> {
    triangles: &'a [[u32; 3]],
    /// The triangles around each vertex: vertex `v` has those from `starts[v]` to `starts[v + 1]` of `around`.
    starts: Vec<usize>,
    around: Vec<u32>,
    emitted: Vec<bool>,
    /// Triangles of each vertex that are still to come.
    live: Vec<u32>,
    /// When each vertex entered the cache.
    entered: Vec<usize>,
    time: usize,
    /// Vertices that were used, the latest last.
    used: Vec<u32>,
    /// Every vertex before this one has no triangles to come.
    cursor: usize,
}

impl<'a> Walk<'a> {
    fn new(triangles: &'a [[u32; 3]], vertices: usize) -> Self {
        let mut live = vec![0_u32; vertices];
        for corner in triangles.as_flattened() {
            live[*corner as usize] += 1;
        }
        let mut starts = vec![0; vertices + 1];
        for (vertex, count) in live.iter().enumerate() {
            starts[vertex + 1] = starts[vertex] + *count as usize;
        }
        let mut ends = starts.clone();
        let mut around = vec![0; triangles.len() * 3];
        for (triangle, corners) in triangles.iter().enumerate() {
            for corner in corners {
                let end = &mut ends[*corner as usize];
                around[*end] = triangle as u32;
                *end += 1;
            }
        }
        Self {
            triangles,
            starts,
            around,
            emitted: vec![false; triangles.len()],
            live,
            entered: vec![0; vertices],
            time: CACHE + 1,
            used: Vec::new(),
            cursor: 0,
        }
    }

    /// Appends all triangles around `fan` that are still to come; gives their corners.
    fn emit(&mut self, fan: u32, ordered: &mut Vec<[u32; 3]>) -> Vec<u32> {
        let mut corners = Vec::new();
        for slot in self.starts[fan as usize]..self.starts[fan as usize + 1] {
            let triangle = self.around[slot] as usize;
            if core::mem::replace(&mut self.emitted[triangle], true) {
                continue;
            }
            ordered.push(self.triangles[triangle]);
            for corner in self.triangles[triangle] {
                corners.push(corner);
                self.used.push(corner);
                let vertex = corner as usize;
                self.live[vertex] -= 1;
                if self.time - self.entered[vertex] > CACHE {
                    self.entered[vertex] = self.time;
                    self.time += 1;
                }
            }
        }
        corners
    }

    /// The candidate that is in the cache for the longest and will still be when all its triangles are out; else any.
    fn best(&self, candidates: &[u32]) -> Option<u32> {
        let mut best = None;
        for candidate in candidates {
            let vertex = *candidate as usize;
            if self.live[vertex] == 0 {
                continue;
            }
            let age = self.time - self.entered[vertex];
            let stays = age + 2 * self.live[vertex] as usize <= CACHE;
            let rank = if stays { age } else { 0 };
            if best.is_none_or(|(best, _)| rank > best) {
                best = Some((rank, *candidate));
            }
        }
        best.map(|(_, vertex)| vertex)
    }

    /// The vertex that was used last of those with triangles to come, else the first in the mesh.
    fn dead_end(&mut self) -> Option<u32> {
        while let Some(vertex) = self.used.pop() {
            if self.live[vertex as usize] > 0 {
                return Some(vertex);
            }
        }
        self.live_from_start()
    }

    fn live_from_start(&mut self) -> Option<u32> {
        let ahead = self.live.iter().skip(self.cursor).position(|live| *live > 0)?;
        self.cursor += ahead;
        Some(self.cursor as u32)
    }
}
