/** A name from an environment variable that is not set is `undefined`, or ''. */
export function needed(maker: string, option: string, value: string | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  const what = option.replace('Name', '')
  throw new TypeError(
    `${maker} needs ${option}: the name of PushPop's ${what}, which the stack's outputs tell`,
  )
}
