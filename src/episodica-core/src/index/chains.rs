//! Lists that grow in any order.

use crate::model::block;

const END: u32 = u32::MAX;

/// A value, and the place of the one before it in the same list.
#[derive(Debug, Clone, Copy)]
struct Link {
    value: u32,
    before: u32,
}

/// Lists of numbers under numbers from 0. The values of all lists stand in one piece of memory, in
/// the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct Chains {
    links: Vec<Link>,
    /// The place of the last value of each list.
    last: Vec<u32>,
}

impl Chains {
    /// Appends a value to a list.
    pub fn push(&mut self, number: u32, value: u32) {
        let list = number as usize;
        if list >= self.last.len() {
            self.last.resize(list + 1, END);
        }
        let place = self.links.len() as u32;
        let before = std::mem::replace(&mut self.last[list], place);
        self.links.push(Link { value, before });
    }

    /// The values of a list, the last one first; none under a number that was not given.
    pub fn get(&self, number: u32) -> impl Iterator<Item = u32> {
        let link = |place: u32| self.links.get(place as usize);
        let last = self.last.get(number as usize).and_then(|place| link(*place));
        std::iter::successors(last, move |this| link(this.before)).map(|link| link.value)
    }

    /// Size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        block(self.links.capacity() * size_of::<Link>())
            + block(self.last.capacity() * size_of::<u32>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_in_any_order() {
        let mut chains = Chains::default();
        for (number, value) in [(3, 7), (0, 1), (3, 8), (0, 2), (3, 7)] {
            chains.push(number, value);
        }
        let list = |number| chains.get(number).collect::<Vec<u32>>();
        assert_eq!((list(3), list(0)), (vec![7, 8, 7], vec![2, 1]));
        assert!(list(1).is_empty() && list(9).is_empty());
    }
}
