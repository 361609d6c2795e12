// The search of deduplicate-text-datasets (`self-similar`, then `collect`), on one core and in memory: the suffix array is
// that of the crate `suffix`, from which that program's table was taken, with four bytes a place where it has eight.
//
//     suffix-array TEXTS ENDS BYTES RANGES
//
// TEXTS holds all texts in a row, ENDS where each ends (u64); windows across ends do not count. RANGES gets where each
// repeated range begins and ends (u64). Prints how many windows repeat, and how many bytes they cover.

use std::{env, fs, str};

fn main() {
    let given: Vec<String> = env::args().collect();
    let text = fs::read(&given[1]).unwrap();
    let ends: Vec<usize> = numbers(&fs::read(&given[2]).unwrap());
    let size: usize = given[3].parse().unwrap();
    let suffixes = suffix::SuffixTable::new(str::from_utf8(&text).unwrap());
    let table = suffixes.table();
    let window = |at: usize| text.get(table[at] as usize..table[at] as usize + size);
    let mut repeated: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < table.len() {
        let mut next = at + 1;
        if let Some(first) = window(at) {
            while next < table.len() && window(next) == Some(first) {
                next += 1;
            }
            let inside = |place: &usize| ends[ends.partition_point(|end| end <= place)] >= place + size;
            let group = table[at..next].iter().map(|place| *place as usize);
            let whole: Vec<usize> = if next - at > 1 { group.filter(inside).collect() } else { vec![] };
            if whole.len() > 1 {
                repeated.extend(whole);
            }
        }
        at = next;
    }
    repeated.sort_unstable();
    let mut ranges: Vec<u64> = Vec::new();
    let mut covered = 0;
    for place in &repeated {
        let (begin, end) = (*place as u64, (*place + size) as u64);
        match ranges.last_mut() {
            Some(last) if begin <= *last => {
                covered += end - *last;
                *last = end;
            }
            _ => {
                covered += end - begin;
                ranges.extend([begin, end]);
            }
        }
    }
    let raw: Vec<u8> = ranges.iter().flat_map(|place| place.to_le_bytes()).collect();
    fs::write(&given[4], raw).unwrap();
    println!("{} {}", repeated.len(), covered);
}

fn numbers(raw: &[u8]) -> Vec<usize> {
    raw.chunks(8).map(|one| u64::from_le_bytes(one.try_into().unwrap()) as usize).collect()
}
