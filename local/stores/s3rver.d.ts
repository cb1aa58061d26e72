// Types for the little of s3rver that we use; the package has none.
declare module '@20minutes/s3rver' {
  import type { IncomingMessage, Server } from 'node:http'
  import type { AddressInfo } from 'node:net'

  type Store = {
    rootDirectory: string
    getResourcePath(bucket: string, key: string | undefined, resource: string): string
    getBucketPath(bucket: string): string
    putContent(
      path: string,
      content: Buffer | NodeJS.ReadableStream,
    ): Promise<[size: number, md5: string]>
    putMetadata(
      bucket: string,
      key: string,
      metadata: Record<string, unknown>,
      md5?: string,
    ): Promise<void>
    deleteObject(bucket: string, key: string): Promise<void>
  }

  /** Koa's. */
  type Middleware = (
    context: { readonly req: IncomingMessage; status: number; body: string },
    next: () => Promise<void>,
  ) => Promise<void>

  export default class S3rver {
    constructor(options: {
      address: string
      port: number
      silent: boolean
      directory: string
      vhostBuckets: boolean
      allowMismatchedSignatures: boolean
    })
    readonly store: Store
    readonly middleware: Middleware[]
    readonly httpServer: Server
    run(): Promise<AddressInfo>
  }
}
