//! What to try, by cause. The advice is PyTorch's own, from its documentation and the hints in its messages.

use super::recompiles::Recompile;
use crate::format::code_place::Owner;
use crate::format::recompile_reason::Cause;

/// What to try against a recompile.
pub(crate) fn of_recompile(found: &Recompile) -> String {
    let first = found.first();
    let source = first.and_then(|reason| reason.source.as_deref());
    let text = of_cause(found.cause(), source, first.and_then(|reason| reason.dimension));
    if found.refused { format!("{text} {LIMIT}") } else { text }
}

/// What the limit adds.
pub(crate) const LIMIT: &str = "The frame had reached the recompile limit: from then on it runs without being \
    compiled, and so do the calls inside it. Raise torch._dynamo.config.recompile_limit only where the number of variants is bounded.";

/// What to try against recompiles for `cause`; `source` is how user code reaches what was other.
pub(crate) fn of_cause(cause: Cause, source: Option<&str>, dimension: Option<u32>) -> String {
    let it = source.map_or("it".to_owned(), |source| format!("`{source}`"));
    match cause {
        Cause::Size => {
            let mark = match (source, dimension) {
                (Some(source), Some(n)) => format!("torch._dynamo.mark_dynamic({source}, {n})"),
                _ => "torch._dynamo.mark_dynamic(tensor, dim)".to_owned(),
            };
            format!(
                "Mark the dimension as dynamic before the call with {mark}, or compile with dynamic=True. Where the sizes \
                 are few, pad to them."
            )
        }
        Cause::Stride => format!(
            "Give {it} one memory layout before the call, for instance with .contiguous(); a changed size also changes \
             strides, and is made dynamic with torch._dynamo.mark_dynamic."
        ),
        Cause::Dimensions => format!("Pass {it} with one number of dimensions, or compile a function for each."),
        Cause::Dtype => format!("Convert {it} to one dtype before the call."),
        Cause::Device => format!("Call with {it} on one device, or compile a function for each device."),
        Cause::RequiresGrad => format!(
            "Call with the same requires_grad of {it} each time; where training and evaluation share the function, one \
             compile of each is normal."
        ),
        Cause::TensorKind => {
            format!("Pass {it} as the same kind of tensor each time (class, layout, modes such as inference mode).")
        }
        Cause::Float => format!(
            "Wrap {it} in a tensor, so that its value is no constant of the compiled code (a learning rate, for instance: \
             lr=torch.tensor(0.01))."
        ),
        Cause::Integer => format!(
            "Compile with dynamic=True, or make {it} a tensor; an integer attribute of a module becomes dynamic with \
             torch._dynamo.config.allow_unspec_int_on_nn_module = True."
        ),
        Cause::Constant => format!(
            "Each value of {it} is compiled for itself. Where the values are few, let it be; else compute with it outside \
             of the compiled function."
        ),
        Cause::Global => format!(
            "The global variable {it} changed. Set it before the first call and leave it, or pass it as an argument."
        ),
        Cause::ObjectId => format!(
            "Another object stands for {it} at each call. Keep one object over all calls, or do what needs it outside of \
             the compiled function."
        ),
        Cause::Type => format!("Pass {it} as an object of one class, or compile a function for each class."),
        Cause::Container => format!(
            "The length or the keys of {it} changed. Fill it before the first call: an optimizer, for instance, makes its \
             state in its first step, and one more compile is normal then."
        ),
        Cause::Attribute => format!("Set or remove the attribute of {it} before the first call."),
        Cause::Aliasing => {
            "Two arguments are the same tensor in some calls. Pass a copy, or compile a function for each case."
                .to_owned()
        }
        Cause::GradMode => {
            "One compile with gradients and one without is normal, for training and evaluation. More of \
             them: call the function in one mode, with torch.no_grad() outside of it."
                .to_owned()
        }
        Cause::GlobalState => "A setting of PyTorch changed between calls (autocast, default dtype, deterministic \
             algorithms, threads). Set it once, before the first call."
            .to_owned(),
        Cause::Backend => {
            "The function was compiled with another backend before. Use one backend for one function.".to_owned()
        }
        Cause::Limit => "See why it was compiled again before, in the other recompiles of this frame.".to_owned(),
        Cause::Other => {
            "Look at the guard: it holds for one call and not for another. Make what it names the same for all \
             calls, or mark it as dynamic."
                .to_owned()
        }
    }
}

/// What to try against a graph break: PyTorch's hints, each a sentence; else what holds for all. What PyTorch's own
/// code does is not for the user to change.
pub(crate) fn of_break(hints: &[String], owner: Option<Owner>) -> String {
    if owner == Some(Owner::Framework) {
        return "The break is in code of PyTorch or of Python itself. Keep the line that leads there out of compiled code \
            (torch.compiler.disable), or compile what it calls instead; or leave it: what stands before and behind it is \
            compiled all the same."
            .to_owned();
    }
    let useful: Vec<&str> = hints.iter().map(String::as_str).filter(|hint| !is_request(hint)).collect();
    match useful.as_slice() {
        [] => "Move what cannot be traced out of the compiled function; torch.compile(fullgraph=True) names each such place \
             as an error."
            .to_owned(),
        some => some.join(" "),
    }
}

/// A hint that asks the user to write to PyTorch's developers.
fn is_request(hint: &str) -> bool {
    ["lease report an issue to PyTorch", "lease file an issue to PyTorch"].iter().any(|words| hint.contains(words))
}

/// What to try against a failed compile of a class of error.
pub(crate) fn of_failure(error: Option<&str>, has_reproducer: bool) -> String {
    let class = error.and_then(|error| error.rsplit('.').next()).unwrap_or_default();
    let ladder = "Find the stage that fails: compile with backend=\"eager\", then \"aot_eager\", then \
         \"aot_eager_decomp_partition\", then \"inductor\"; and with dynamic=True and dynamic=False.";
    match class {
        "Unsupported" => "Change the line that cannot be traced, or keep it out of compiled code with \
             torch.compiler.disable. With fullgraph=True each such line is an error; without it the graph breaks there, \
             or the frame runs as it is."
            .to_owned(),
        "TorchRuntimeError" => {
            "The operation fails with these inputs already while tracing: run it without torch.compile. A custom operator \
             needs a fake kernel (torch.library.register_fake)."
                .to_owned()
        }
        _ if has_reproducer => format!(
            "{ladder} The log holds a program that runs the graph alone: fasttl extract PATH --kind fx_graph_runnable."
        ),
        _ => ladder.to_owned(),
    }
}
