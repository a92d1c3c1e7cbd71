//! Places for what waits. See [`Store`].

/// No place.
pub(super) const NONE: u32 = u32::MAX;
/// Places that are made at once.
const CHUNK: usize = 256;

/// Places that are numbered, and stay where they are. They are made in chunks: what is put in never moves, and after a storm memory is given back
/// chunk by chunk, rather than all in one frame.
#[derive(Debug)]
pub(super) struct Store<T> {
    chunks: Vec<Chunk<T>>,
    /// Chunks with room.
    open: Vec<u32>,
    used: usize,
    /// The memory of one chunk is kept.
    spare: Vec<Place<T>>,
}

#[derive(Debug)]
struct Chunk<T> {
    places: Vec<Place<T>>,
    /// The first free place below the length of `places`.
    free: u32,
    used: u32,
}

#[derive(Debug)]
pub(super) enum Place<T> {
    Free { next: u32 },
    Used(T),
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            open: Vec::new(),
            used: 0,
            spare: Vec::new(),
        }
    }
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
            used: 0,
        }
    }
}

impl<T> Store<T> {
    /// How many places are used.
    pub fn len(&self) -> usize {
        self.used
    }

    /// How many places there are, free ones too.
    pub fn places(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.places.len()).sum()
    }

    /// The place with this number, or the next one that there is, and behind the last one the first.
    pub fn place_from(&self, number: usize) -> Option<u32> {
        let (chunk, within) = (number / CHUNK, number % CHUNK);
        if self.chunks.get(chunk).is_some_and(|chunk| within < chunk.places.len()) {
            return Some(number as u32);
        }
        let has_places = |number: &usize| self.chunks.get(*number).is_some_and(|chunk| !chunk.places.is_empty());
        let mut others = (chunk + 1..self.chunks.len()).chain(0..=chunk);
        others.find(has_places).map(|chunk| (chunk * CHUNK) as u32)
    }

    /// How many there is memory for.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        let chunks = self.chunks.iter().map(|chunk| chunk.places.capacity());
        chunks.sum::<usize>() + self.spare.capacity()
    }

    #[inline]
    pub fn get(&self, at: u32) -> Option<&T> {
        let chunk = self.chunks.get(at as usize / CHUNK)?;
        match chunk.places.get(at as usize % CHUNK)? {
            Place::Used(value) => Some(value),
            Place::Free { .. } => None,
        }
    }

    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(at as usize / CHUNK)?;
        match chunk.places.get_mut(at as usize % CHUNK)? {
            Place::Used(value) => Some(value),
            Place::Free { .. } => None,
        }
    }

    /// Puts something in; where it is.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        let number = match self.open.last() {
            Some(open) => *open,
            None => self.open_another(),
        };
        let chunk = &mut self.chunks[number as usize];
        let at = match chunk.places.get_mut(chunk.free as usize) {
            Some(place) => {
                let at = chunk.free;
                if let Place::Free { next } = core::mem::replace(place, Place::Used(value)) {
                    chunk.free = next;
                }
                at
            }
            None => {
                if chunk.places.capacity() == 0 {
                    chunk.places = core::mem::take(&mut self.spare);
                    chunk.places.reserve_exact(CHUNK);
                }
                chunk.places.push(Place::Used(value));
                chunk.places.len() as u32 - 1
            }
        };
        chunk.used += 1;
        if chunk.used as usize == CHUNK {
            self.open.pop();
        }
        self.used += 1;
        number * CHUNK as u32 + at
    }

    #[cold]
    fn open_another(&mut self) -> u32 {
        let number = self.chunks.len() as u32;
        self.chunks.push(Chunk::default());
        self.open.push(number);
        number
    }

    /// Takes something out.
    pub fn remove(&mut self, at: u32) -> Option<T> {
        let (number, within) = (at as usize / CHUNK, at as usize % CHUNK);
        let chunk = self.chunks.get_mut(number)?;
        let place = chunk.places.get_mut(within)?;
        if matches!(place, Place::Free { .. }) {
            return None;
        }
        let Place::Used(value) = core::mem::replace(place, Place::Free { next: chunk.free }) else {
            return None;
        };
        chunk.free = within as u32;
        if chunk.used as usize == CHUNK {
            self.open.push(number as u32);
        }
        chunk.used -= 1;
        self.used -= 1;
        if chunk.used == 0 {
            let mut places = core::mem::take(chunk).places;
            places.clear();
            if self.spare.capacity() == 0 {
                self.spare = places;
            }
        }
        if self.used == 0 {
            self.chunks.clear();
            self.open.clear();
        }
        Some(value)
    }

    /// Everything, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let places = self.chunks.iter().flat_map(|chunk| &chunk.places);
        places.filter_map(|place| match place {
            Place::Used(value) => Some(value),
            Place::Free { .. } => None,
        })
    }
}
