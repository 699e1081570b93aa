/// The result for the smallest size, from `few` to `most`, that has one, accurate to one part in `parts`: doubled until
/// there is one, then bisected. `None` if there is none.
pub(crate) fn smallest<T, E>(
    mut few: usize,
    most: usize,
    parts: usize,
    mut of: impl FnMut(usize) -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let mut many = few;
    let mut best = loop {
        if let Some(found) = of(many)? {
            break found;
        }
        (few, many) = (many, 2 * many);
        if many > most {
            return Ok(None);
        }
    };
    while many - few > many / parts {
        let middle = few.midpoint(many);
        match of(middle)? {
            Some(found) => (many, best) = (middle, found),
            None => few = middle,
        }
    }
    Ok(Some(best))
}
