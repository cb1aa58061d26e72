// What the rule gives it, as one line of its log.
/** @param {unknown} event */
export const handler = async (event) => {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
