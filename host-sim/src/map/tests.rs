use super::*;

fn spot(x: f64, y: f64, mark: Mark, part: u32) -> Spot {
    Spot { point: Point { x, y }, capacity: Some(7), mark, leader: None, party: 0, part }
}

fn drawn(map: &Map) -> Vec<String> {
    map.draw(24, 3, Ink::Ascii).rows(false).collect()
}

fn pair(links: Vec<(u32, u32)>, parts: [u32; 2]) -> Map {
    let spots = vec![spot(0.0, 0.0, Mark::Leads, parts[0]), spot(10.0, 0.0, Mark::Follows, parts[1])];
    Map { spots, links, lively: Vec::new(), walled: false }
}

#[test]
fn nodes_stand_where_they_are_with_their_capacity_and_their_links() {
    assert_eq!(drawn(&pair(vec![(0, 1)], [0, 0])), ["", "  [*0 7]--------o1 7", ""]);
    assert_eq!(drawn(&pair(vec![], [0, 0])), ["", "  [*0 7]        o1 7", ""]);
}

#[test]
fn a_cut_is_drawn_between_its_parts() {
    let map = Map { walled: true, ..pair(vec![], [0, 1]) };
    assert_eq!(drawn(&map), ["           #", "  [*0 7]   #    o1 7", "           #"]);
}

#[test]
fn every_sign_is_another_one() {
    let marks = [Mark::Absent, Mark::Seeking, Mark::Called, Mark::Reported, Mark::Follows, Mark::Leads, Mark::Down];
    for ink in [Ink::Fine, Ink::Ascii] {
        let signs: BTreeSet<char> = marks.iter().map(|mark| mark.glyph(ink)).collect();
        assert_eq!(signs.len(), marks.len());
    }
}

#[test]
fn a_map_without_nodes_or_without_room_is_drawn_too() {
    let nobody = Map { spots: Vec::new(), links: Vec::new(), lively: Vec::new(), walled: true };
    assert_eq!(nobody.draw(10, 2, Ink::Fine).rows(false).collect::<Vec<_>>(), ["", ""]);
    let map = Map { walled: true, ..pair(vec![(0, 1)], [0, 1]) };
    assert_eq!(map.draw(0, 0, Ink::Fine).rows(false).count(), 0);
    assert_eq!(map.draw(1, 1, Ink::Fine).rows(false).count(), 1);
}
