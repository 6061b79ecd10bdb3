// Tests run in plain Node: what they check are pure functions, the wiring to a page is checked in browsers.
export default { test: { include: ["test/**/*.test.ts"] } };
