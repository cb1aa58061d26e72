// All of S3's client as one module of its own, which every bundle has beside it (see bundle.ts).
export * from '@aws-sdk/client-s3'
