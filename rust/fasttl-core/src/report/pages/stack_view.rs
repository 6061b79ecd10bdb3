//! Stacks on pages: put together here and not by a template, since a log has hundreds of thousands of frames.

use serde::{Serialize, Serializer};

use super::common::FrameView;
use crate::report::html::Markup;

/// A stack as the macros of the templates take it: nothing where there are no frames, else how many there are and
/// the items of their list.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackView {
    frames: usize,
    items: Markup,
}

impl From<Vec<FrameView>> for StackView {
    fn from(frames: Vec<FrameView>) -> Self {
        let mut items = Markup::default();
        for frame in &frames {
            items.tag("<li>");
            frame.write(&mut items);
            items.tag("</li>");
        }
        Self { frames: frames.len(), items }
    }
}

impl StackView {
    /// Whether there are no frames.
    pub(crate) const fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// The stack as an element, as the macro `stack` has it.
    pub(crate) fn write(&self, out: &mut Markup) {
        if self.frames == 0 {
            out.tag("<p class=\"none\">No stack in the log.</p>");
        } else {
            out.tag("<ol class=\"stack\">").markup(&self.items).tag("</ol>");
        }
    }

    /// The stack folded, as the macro `folded_stack` has it.
    pub(crate) fn write_folded(&self, title: &'static str, none: &'static str, out: &mut Markup) {
        if self.frames == 0 {
            out.tag("<span class=\"none\">").text(none).tag("</span>");
            return;
        }
        out.tag("<details class=\"fold\"><summary>").text(title).tag(" <span class=\"n\">");
        out.text(&self.frames.to_string()).tag(if self.frames == 1 { " frame" } else { " frames" });
        out.tag("</span></summary>");
        self.write(out);
        out.tag("</details>");
    }
}

impl Serialize for StackView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.frames == 0 {
            let nothing: [(); 0] = [];
            return nothing.serialize(serializer);
        }
        (self.frames, self.items.clone().into_value()).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::html::Pages;

    #[test]
    fn stacks_look_as_the_macros_have_them() {
        let hostile = FrameView::of("/a/<torch>/\"x\"&'.py", Some(3), "<b>");
        let frames = vec![hostile.clone(), FrameView::of("/x/torch/_dynamo/y.py", None, ""), hostile];
        for frames in [vec![], frames[..1].to_vec(), frames] {
            let stack = StackView::from(frames.clone());
            let (mut open, mut folded) = (Markup::default(), Markup::default());
            stack.write(&mut open);
            stack.write_folded("Whole stack", "no whole stack", &mut folded);
            let template = "{% import \"_macros.html\" as ui %}{{ ui.stack(s) }}|{{ ui.folded_stack(\"Whole stack\", s) }}|\
                            {% for f in frames %}<li>{{ ui.frame(f) }}</li>{% endfor %}";
            let context = minijinja::context! { s => minijinja::Value::from(minijinja::value::Serde(&stack)),
            frames => minijinja::Value::from(minijinja::value::Serde(&frames)) };
            let rendered = Pages::new().unwrap().render_text(template, context);
            let items = stack.items.into_value();
            assert_eq!(rendered, format!("{}|{}|{items}", open.into_value(), folded.into_value()));
        }
    }
}
