# Write the tables of R packages that the benchmarks use as CSV files: Rscript benchmarks/r_tables.R FOLDER
# Needs install.packages(c("AER", "carData", "mlbench", "modeldata")).
tables <- list(
  AER = c("CreditCard", "HMDA", "HealthInsurance", "NMES1988", "ResumeNames", "SmokeBan", "SwissLabor"),
  carData = c("Arrests", "Wells"),
  mlbench = "Shuttle",
  modeldata = c("attrition", "cells", "credit_data", "hpc_data", "lending_club", "mlc_churn", "stackoverflow", "wa_churn")
)
folder <- file.path(commandArgs(trailingOnly = TRUE)[1], "r")
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
for (package in names(tables)) {
  for (name in tables[[package]]) {
    held <- new.env()
    data(list = name, package = package, envir = held)
    write.csv(get(name, held), file.path(folder, paste0(name, ".csv")), row.names = FALSE)
  }
}
