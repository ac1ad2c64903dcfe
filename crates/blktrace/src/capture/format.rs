//! An event's description in tracefs: its number, and the position of each field.
//!
//! Source: Linux, Documentation/trace/events.rst, "Event formats". Positions differ between
//! kernels.

/// The content of a file `format`, or of `header_page`, which has the same lines and no number.
#[derive(Clone, Debug, Default)]
pub struct Format {
    id: Option<u16>,
    fields: Vec<Field>,
}

/// Where a field lies, in bytes from the event's beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    /// Its first byte.
    pub at: usize,
    /// How many bytes it has.
    pub bytes: usize,
}

impl Format {
    /// Reads the lines of a `format` file, and skips lines that are no number and no field.
    pub fn of(text: &str) -> Self {
        let mut format = Self::default();
        for line in text.lines().map(str::trim) {
            if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().ok();
            } else if let Some(field) = line.strip_prefix("field:") {
                format.fields.extend(Field::of(field));
            }
        }
        format
    }

    /// The event's number.
    pub fn id(&self) -> Option<u16> {
        self.id
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Where the field of this name begins, if it has so many bytes.
    pub fn at(&self, name: &str, bytes: usize) -> Option<usize> {
        self.field(name).filter(|field| field.bytes == bytes).map(|field| field.at)
    }

    /// How many bytes an event has at least.
    pub fn bytes(&self) -> usize {
        self.fields.iter().map(|field| field.at + field.bytes).max().unwrap_or(0)
    }
}

impl Field {
    /// A line such as `char rwbs[10]; offset:34; size:10; signed:0;`, with tabs.
    fn of(text: &str) -> Option<Self> {
        /// No event is longer than a page of 64 KiB.
        const PLACES: usize = 1 << 16;
        let mut parts = text.split(';').map(str::trim);
        let declared = parts.next()?.rsplit(' ').next()?;
        let name = declared.split('[').next()?.to_owned();
        let mut number = |key| parts.next()?.strip_prefix(key)?.parse().ok();
        let (at, bytes) = (number("offset:")?, number("size:")?);
        (at < PLACES && bytes < PLACES).then_some(Self { name, at, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d\", REC->dev\n";

    #[test]
    fn fields_lie_where_the_kernel_says() {
        let format = Format::of(ISSUE);
        assert_eq!(format.id(), Some(2104));
        assert_eq!((format.at("sector", 8), format.at("sector", 4)), (Some(16), None));
        assert_eq!(format.field("rwbs").map(|field| (field.at, field.bytes)), Some((34, 10)));
        assert_eq!((format.at("cmd", 4), format.bytes()), (Some(60), 64));
        assert_eq!(format.field("comm"), None);
    }

    #[test]
    fn what_is_no_field_is_none() {
        for text in ["field:", "field:int x;", "field:int x;\toffset:-1;\tsize:4;", "ID: x"] {
            let format = Format::of(text);
            assert_eq!((format.id(), format.bytes()), (None, 0), "{text}");
        }
        assert_eq!(Format::of("field:int x;\toffset:99999999;\tsize:4;").bytes(), 0);
    }
}
