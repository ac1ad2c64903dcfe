//! Where on the device requests are over time: cells of time and place, as fine as so many cells
//! can be without knowing how long the trace is and how large the device. Where something lies
//! outside, two neighbors become one.

/// Cells along time, unless more are requested.
pub const COLUMNS: usize = 128;
/// Cells along the device.
pub const ROWS: usize = 64;
/// The least width of a column: 65 µs.
const COLUMN_BITS: u32 = 16;
/// The least height of a row: 64 KiB.
pub const ROW_BITS: u32 = 7;

/// The content of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// How many sectors the requests have.
    pub sectors: u64,
    /// How many requests begin there.
    pub count: u32,
    /// The number of the first file that is known, 0 if none is, and [`OTHERS`].
    file: u32,
}

/// There are requests of other files, too, or of such that are not known.
const OTHERS: u32 = 1 << 31;

impl Cell {
    /// The number of a file of which requests are in it, 0 if none is known, and whether there are requests
    /// of others, too.
    pub fn file(&self) -> (u32, bool) {
        (self.file & !OTHERS, self.file & OTHERS != 0)
    }

    #[inline]
    fn add(&mut self, other: Self) {
        if self.count == 0 {
            self.file = other.file;
        } else if self.file != other.file {
            let known = if self.file & !OTHERS == 0 { other.file } else { self.file };
            self.file = known | OTHERS;
        }
        self.count += other.count;
        self.sectors += other.sectors;
    }
}

/// One direction: values are shifted to places, and places are kept modulo how many there are, so
/// that what is seen may begin anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Axis<const PLACES: usize> {
    /// The logarithm of a place's width.
    pub shift: u32,
    /// The first place that was seen.
    pub first: u64,
    /// The last place that was seen.
    pub last: u64,
}

impl<const PLACES: usize> Axis<PLACES> {
    fn new(shift: u32) -> Self {
        Self { shift, first: u64::MAX, last: 0 }
    }

    #[inline]
    fn fits(&mut self, value: u64) -> bool {
        let place = value >> self.shift;
        if (self.first..=self.last).contains(&place) {
            return true;
        }
        let (first, last) = (self.first.min(place), self.last.max(place));
        let fits = last - first < PLACES as u64;
        if fits {
            (self.first, self.last) = (first, last);
        }
        fits
    }

    #[inline]
    fn at(&self, value: u64) -> usize {
        (value >> self.shift) as usize % PLACES
    }

    fn fold(&mut self) {
        self.shift += 1;
        self.first >>= 1;
        self.last >>= 1;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Raster<const COLUMNS: usize = { self::COLUMNS }> {
    /// Nanoseconds.
    pub time: Axis<COLUMNS>,
    /// Sectors.
    pub place: Axis<ROWS>,
    cells: Vec<Cell>,
}

impl<const COLUMNS: usize> Default for Raster<COLUMNS> {
    fn default() -> Self {
        Self {
            time: Axis::new(COLUMN_BITS),
            place: Axis::new(ROW_BITS),
            cells: vec![Cell::default(); COLUMNS * ROWS],
        }
    }
}

impl<const COLUMNS: usize> Raster<COLUMNS> {
    /// A request of the file with a number, 0 if it is not known, was issued.
    #[inline]
    pub fn take(&mut self, time_ns: u64, sector: u64, sectors: u32, file: u32) {
        while !self.time.fits(time_ns) {
            self.fold(true);
        }
        while !self.place.fits(sector) {
            self.fold(false);
        }
        let cell = &mut self.cells[self.time.at(time_ns) * ROWS + self.place.at(sector)];
        cell.add(Cell { sectors: sectors.into(), count: 1, file });
    }

    /// Column, row and content of every cell that is not empty, from the first of each on.
    pub fn cells(&self) -> Vec<(u64, u64, Cell)> {
        self.places()
            .map(|(column, row)| (column, row, self.cell(column, row)))
            .filter(|(_, _, cell)| cell.count > 0)
            .map(|(column, row, cell)| (column - self.time.first, row - self.place.first, cell))
            .collect()
    }

    fn places(&self) -> impl Iterator<Item = (u64, u64)> + use<COLUMNS> {
        let (rows, columns) = (self.place, self.time);
        (columns.first..=columns.last)
            .flat_map(move |column| (rows.first..=rows.last).map(move |row| (column, row)))
    }

    fn cell(&self, column: u64, row: u64) -> Cell {
        self.cells[column as usize % COLUMNS * ROWS + row as usize % ROWS]
    }

    /// Makes one column of two.
    pub fn widen(&mut self) {
        self.fold(true);
    }

    /// Makes one of two neighbors in a direction.
    #[cold]
    fn fold(&mut self, in_time: bool) {
        let (columns, rows) = (u32::from(in_time), u32::from(!in_time));
        let mut folded = vec![Cell::default(); self.cells.len()];
        for (column, row) in self.places() {
            let cell = self.cell(column, row);
            let (column, row) = ((column >> columns) as usize, (row >> rows) as usize);
            if cell.count > 0 {
                folded[column % COLUMNS * ROWS + row % ROWS].add(cell);
            }
        }
        self.cells = folded;
        if in_time {
            self.time.fold();
        } else {
            self.place.fold();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_request_is_in_the_cell_of_its_time_and_place(
            requests in prop::collection::vec(
                (0_u64..1 << 40, 0_u64..1 << 47, 1_u32..99, 0_u32..3), 1..200),
            shift in 0_u32..30,
        ) {
            let mut raster: Raster = Raster::default();
            let mut expected = BTreeMap::new();
            for (time, sector, sectors, file) in &requests {
                raster.take(time >> shift, sector >> shift, *sectors, *file);
            }
            let (time_axis, place_axis) = (raster.time, raster.place);
            for (time, sector, sectors, file) in &requests {
                let column = (time >> shift >> time_axis.shift) - time_axis.first;
                let row = (sector >> shift >> place_axis.shift) - place_axis.first;
                let (count, all, files) =
                    expected.entry((column, row)).or_insert((0, 0, BTreeSet::new()));
                *count += 1;
                *all += u64::from(*sectors);
                files.insert(*file);
            }
            let found = raster.cells();
            prop_assert_eq!(found.len(), expected.len());
            for (column, row, cell) in found {
                let (count, sectors, files) = &expected[&(column, row)];
                prop_assert_eq!((cell.count, cell.sectors), (*count, *sectors));
                let (file, others) = cell.file();
                prop_assert!(files.contains(&file));
                prop_assert_eq!(others, files.len() > 1);
                prop_assert!(file > 0 || files.len() == 1);
            }
            // As fine as it can be: with twice as many cells in a direction it would not fit.
            let of = |first, last| (last - first + 1) * 2 + 2;
            let (columns, rows) =
                (of(time_axis.first, time_axis.last), of(place_axis.first, place_axis.last));
            prop_assert!(time_axis.shift == COLUMN_BITS || columns > COLUMNS as u64);
            prop_assert!(place_axis.shift == ROW_BITS || rows > ROWS as u64);
        }
    }
}
