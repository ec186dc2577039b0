use super::*;

fn node(x: f64, y: f64, mark: Mark, component: u32) -> MapNode {
    MapNode { point: Point { x, y }, capacity: Some(7), mark, leader: None, colour: 0, component }
}

fn drawn(map: &Map) -> Vec<String> {
    map.draw(24, 3, Charset::Ascii).rows(false).collect()
}

fn pair(links: Vec<(u32, u32)>, components: [u32; 2]) -> Map {
    let nodes = vec![node(0.0, 0.0, Mark::Leads, components[0]), node(10.0, 0.0, Mark::Follows, components[1])];
    Map { nodes, links, flooded: Vec::new(), partitioned: false }
}

#[test]
fn nodes_are_drawn_at_their_positions_with_their_capacities_and_links() {
    assert_eq!(drawn(&pair(vec![(0, 1)], [0, 0])), ["", "  [*0 7]--------o1 7", ""]);
    assert_eq!(drawn(&pair(vec![], [0, 0])), ["", "  [*0 7]        o1 7", ""]);
}

#[test]
fn a_partition_is_drawn_between_its_components() {
    let map = Map { partitioned: true, ..pair(vec![], [0, 1]) };
    assert_eq!(drawn(&map), ["           #", "  [*0 7]   #    o1 7", "           #"]);
}

#[test]
fn every_state_has_its_own_character() {
    let marks = [
        Mark::NotStarted,
        Mark::Leaderless,
        Mark::Called,
        Mark::Reported,
        Mark::Follows,
        Mark::Leads,
        Mark::Down,
        Mark::Outside,
    ];
    for charset in [Charset::Unicode, Charset::Ascii] {
        let glyphs: BTreeSet<char> = marks.iter().map(|mark| mark.glyph(charset)).collect();
        assert_eq!(glyphs.len(), marks.len());
    }
}

#[test]
fn a_map_without_nodes_or_without_room_is_drawn_too() {
    let empty = Map { nodes: Vec::new(), links: Vec::new(), flooded: Vec::new(), partitioned: true };
    assert_eq!(empty.draw(10, 2, Charset::Unicode).rows(false).collect::<Vec<_>>(), ["", ""]);
    let map = Map { partitioned: true, ..pair(vec![(0, 1)], [0, 1]) };
    assert_eq!(map.draw(0, 0, Charset::Unicode).rows(false).count(), 0);
    assert_eq!(map.draw(1, 1, Charset::Unicode).rows(false).count(), 1);
}
