/** The little of it that is used here; the package has no types of its own. */
declare module 'pg' {
  class Client {
    constructor(options: { host: string; user?: string })
    readonly host: string
    escapeIdentifier(name: string): string
  }
  const pg: {
    readonly Client: typeof Client
    readonly types: { getTypeParser(oid: number): (text: string) => unknown }
  }
  export default pg
}
