/* Entry of the report's script. Every page reads without it; each part below adds to what the page already shows, looks for
   its own elements and does nothing where there are none. */
import { enhanceCode } from "./code";
import { openPrintedDetails, openTarget } from "./hash";
import { enhanceProvenance } from "./provenance";
import { enhanceTables } from "./table";
import { addThemeButton } from "./theme";
import { enhanceTrees } from "./tree";

/** Run one part; what fails in it must not take the others along, since the static page is complete without them. */
function attempt(part: () => void): void {
  try {
    part();
  } catch (error) {
    console.error(error);
  }
}

for (const part of [addThemeButton, enhanceTables, enhanceTrees, enhanceCode, enhanceProvenance, openPrintedDetails, openTarget]) {
  attempt(part);
}
