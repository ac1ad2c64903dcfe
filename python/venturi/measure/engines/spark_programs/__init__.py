"""What runs inside Spark: started by spark-submit, never imported by Venturi itself."""
