// All of S3's client as one separate module, which lies beside every bundle (see bundle.ts).
export * from '@aws-sdk/client-s3'
