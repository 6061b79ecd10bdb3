// From fragment to id: ids of compiles are written as the log prints them, browsers and people encode them differently.
import { describe, expect, it } from "vitest";
import { idsOfHash } from "../src/hash";

describe("idsOfHash", () => {
  it.each([
    ["", []],
    ["#", []],
    ["#[0/0]", ["[0/0]"]],
    ["#[!0/1/2_3]", ["[!0/1/2_3]"]],
    ["#%5B0%2F0%5D", ["%5B0%2F0%5D", "[0/0]"]],
    ["#c=0/0", ["c=0/0"]],
    ["#c=0/1@1", ["c=0/1@1"]],
    ["#c=0%2F0", ["c=0%2F0", "c=0/0"]],
    ["#c=0/1&tab=code&line=3", ["c=0/1&tab=code&line=3", "c=0/1"]],
    ["#tab=code&c=0/1", ["tab=code&c=0/1", "c=0/1"]],
    ["#tab=code", ["tab=code"]],
    ["#q=c=1", ["q=c=1"]],
    ["#100%", ["100%"]],
    ["#c=%E0%A4&x=1", ["c=%E0%A4&x=1", "c=%E0%A4"]],
    ["#L12", ["L12"]],
  ])("%s", (hash, ids) => {
    expect(idsOfHash(hash)).toEqual(ids);
  });

  it("finds every compile id again after the address bar has encoded it", () => {
    for (const id of ["[0/0]", "[-/-]", "c=12/3_4", "c=!0/1/0", "[größe/0]", "[a%b/0]"]) {
      expect(idsOfHash(`#${encodeURIComponent(id)}`)).toContain(id);
      expect(idsOfHash(`#${encodeURI(id)}`)).toContain(id);
    }
  });
});
